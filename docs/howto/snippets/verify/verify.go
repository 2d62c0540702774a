// Verify requests of Turnkeeper with the standard library.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// IsFromTurnkeeper tells whether these bytes were signed with this secret within 5 minutes of now.
func IsFromTurnkeeper(secret string, headers http.Header, body []byte) bool {
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(secret, "whsec_"), "="))
	if err != nil {
		return false
	}
	sentAt := headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(headers.Get("webhook-id") + "." + sentAt + "."))
	mac.Write(body)
	right := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, signature := range strings.Fields(headers.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), right) {
			return true
		}
	}
	return false
}
