package postgres

import (
	"errors"
	"net/url"
	"strings"
)

// addressError says what is wrong with an address, without the passwords in it. It does not wrap the error that it was
// made from, which may hold them.
func addressError(address string, err error) error {
	u, parseErr := url.Parse(address)
	if parseErr != nil {
		// Where nobody can say which part is the password, no part is shown.
		return errors.New("the address of the database is no URL: it has the form postgres://user:password@host:port/database, " +
			"and signs such as @ : / ? # % in the user or the password are written as %40 %3A %2F %3F %23 %25")
	}
	text := err.Error()
	secrets := []string{u.Query().Get("password"), u.Query().Get("sslpassword")}
	if password, ok := u.User.Password(); ok {
		_, encoded, _ := strings.Cut(u.User.String(), ":")
		secrets = append(secrets, password, encoded)
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "xxxxx")
		}
	}
	return errors.New("reading the address of the database: " + text)
}
