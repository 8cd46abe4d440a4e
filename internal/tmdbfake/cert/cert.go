// Package cert makes the certificates of a stand-in that serves HTTPS: an authority
// for one run, and leaf certificates that are good, expired or for another name.
package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Pair is an authority and one certificate that it has signed. Both live in memory
// alone.
type Pair struct {
	Leaf      tls.Certificate
	authority *x509.Certificate
}

// Fault is a reason for which a client must refuse a certificate.
type Fault uint8

// The faults. An unknown authority needs none of them: do not trust AuthorityPEM.
const (
	Good Fault = iota
	Expired
	WrongName
)

// New returns a certificate for localhost and the loopback addresses, valid from a
// day before now.
func New(now time.Time, fault Fault) (*Pair, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	caTemplate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "anivault stand-in authority"},
		NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the certificate's key: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
		DNSNames: []string{"localhost", "api.themoviedb.org"}, KeyUsage: x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	switch fault {
	case Expired:
		leaf.NotAfter = now.Add(-time.Hour)
	case WrongName:
		leaf.DNSNames, leaf.IPAddresses = []string{"elsewhere.invalid"}, nil
	case Good:
	}
	if der, err = x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey); err != nil {
		return nil, fmt.Errorf("make the certificate: %w", err)
	}
	return &Pair{Leaf: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority: ca}, nil
}

// AuthorityPEM returns the authority's certificate in PEM: the content of the file
// that ANIVAULT_TMDB_CA_FILE names.
func (p *Pair) AuthorityPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.authority.Raw})
}

// Roots returns a pool that trusts the authority alone.
func (p *Pair) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.authority)
	return pool
}
