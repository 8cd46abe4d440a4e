// This file decides the certificates: an authority made for one run, and leaf
// certificates that are good, expired or for another name.

package tmdbfake

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

// TLS is a certificate authority of the stand-in's own and one certificate of
// it. It lives in memory and dies with the process.
type TLS struct {
	ca   *x509.Certificate
	leaf tls.Certificate
}

// TLSFault makes a certificate that a client must refuse.
type TLSFault uint8

// The faults a certificate can have. That of an unknown authority needs none
// of these: it suffices not to trust CAPEM.
const (
	TLSGood TLSFault = iota
	TLSExpired
	TLSWrongName
)

// NewTLS makes an authority and a certificate for localhost and loopback
// addresses. The times are counted from now.
func NewTLS(now time.Time, fault TLSFault) (*TLS, error) {
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
	case TLSExpired:
		leaf.NotAfter = now.Add(-time.Hour)
	case TLSWrongName:
		leaf.DNSNames, leaf.IPAddresses = []string{"elsewhere.invalid"}, nil
	case TLSGood:
	}
	if der, err = x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey); err != nil {
		return nil, fmt.Errorf("make the certificate: %w", err)
	}
	return &TLS{ca: ca, leaf: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// CAPEM gives the authority's certificate in PEM: the content of the file that
// ANIVAULT_TMDB_CA_FILE names.
func (t *TLS) CAPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.ca.Raw})
}

// Pool gives a pool that trusts the authority and nothing else.
func (t *TLS) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(t.ca)
	return p
}

func (t *TLS) serverConfig() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{t.leaf}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
}
