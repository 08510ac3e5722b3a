package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

// isTLS reports whether a connection failed because of who answered, or how.
func isTLS(err error) bool {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &authority) ||
		errors.As(err, &host) ||
		errors.As(err, &invalid)
}
