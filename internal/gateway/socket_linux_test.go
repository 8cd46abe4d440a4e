package gateway

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/config"
)

// Many services run without the system calls that change owners, and systemd ends a process that uses one.
func TestAUnixSocketNeedsNoChangeOfOwner(t *testing.T) {
	const inChild = "ANIVAULT_TEST_WITHOUT_CHOWN"
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "socket")
	forbid(t, unix.SYS_FCHOWNAT, unix.SYS_FCHOWN)
	l, err := listen("unix:"+path, &config.Serve{SocketMode: 0o660})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info, err)
	}
}

// forbid ends this process once it makes one of the system calls.
func forbid(t *testing.T, calls ...uint32) {
	t.Helper()
	runtime.LockOSThread()
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the call's number
	for _, call := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	filter := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var kept runtime.Pinner
	kept.Pin(filter)
	kept.Pin(filter.Filter)
	defer kept.Unpin()
	at := uintptr(unsafe.Pointer(filter))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, at, 0, 0); err != nil {
		t.Skip(err)
	}
}
