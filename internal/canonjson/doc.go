// Package canonjson writes JSON in one canonical form and hashes it, so that
// two parties who hold the same data hold the same hash.
//
// The form: object keys sorted by code point at every level; ", " between
// members and ": " after a key; every character outside printable ASCII written
// as \uXXXX, in surrogate pairs above U+FFFF, with the short forms \b \f \n \r \t
// where JSON has them; <, > and & as they are; integers as digits; fractional
// numbers as the shortest text that reads back, always with a point or an
// exponent (1000.0, 1e+21, 1e-07); no newline at the end. The hash is SHA-256
// over these bytes; its short form is the first 16 hex digits.
//
// Contract: Append and Marshal take a closed set of Go types and refuse
// everything else, because a silent conversion would hash something the caller
// did not mean. Strings that are not UTF-8, numbers that are not finite and
// repeated keys are errors, never replaced. Transform brings JSON text into the
// form.
//
// Limits: nesting up to MaxDepth levels. The package is pure and keeps no state.
package canonjson
