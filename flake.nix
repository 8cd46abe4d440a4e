# `nix run github:anivault/anivault` builds and runs anivault. A test holds vendorHash.
{
  description = "Find out which TMDB entry, season and episode each video file is";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable"; # its Go is 1.26 or newer
  outputs =
    { self, nixpkgs }:
    let
      version = "github.com/anivault/anivault/internal/version";
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default =
          with nixpkgs.legacyPackages.${system};
          buildGoModule {
            pname = "anivault";
            version = self.shortRev or "dev";
            src = self;
            subPackages = [ "cmd/anivault" ];
            vendorHash = "sha256-3cqiZud+ijV5OfnhlDXvuD6pSRJtVBJFm1b/NmFuxb4=";
            env.CGO_ENABLED = 0;
            tags = [ "timetzdata" ];
            ldflags = [ "-s -w -X ${version}.commit=${self.rev or "unknown"}" ];
            doCheck = false; # .ci/run tests it
            nativeBuildInputs = [ installShellFiles ];
            postInstall = lib.optionalString (stdenv.buildPlatform.canExecute stdenv.hostPlatform) ''
              for shell in bash fish zsh; do
                $out/bin/anivault completion $shell >anivault.$shell
              done
              installShellCompletion anivault.{bash,fish,zsh}
              $out/bin/anivault man --dir man
              installManPage man/*.1
            '';
            meta = {
              description = "Find out which TMDB entry, season and episode each video file is";
              homepage = "https://github.com/anivault/anivault";
              license = lib.licenses.mit;
              mainProgram = "anivault";
            };
          };
      });
    };
}
