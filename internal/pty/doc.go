// Package pty makes pseudo-terminals. Only tests import it.
package pty
