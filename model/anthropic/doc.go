// Package anthropic speaks the Messages wire.
package anthropic
