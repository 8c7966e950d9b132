// Package syscallfilter makes and installs the system call filters of
// confinement: short lists of calls that are refused, everything else allowed.
//
// Contract: the filters are data (Rule) and one assembler. Arguments are compared
// in the 32 bits that the kernel looks at; a comparison of all 64 would be passed
// by a call with high bits set. Calls by another architecture's numbers (i386 and
// x32 on amd64, arm on arm64) are refused altogether, since they would pass any
// list written in the native numbers; so 32-bit programs do not run inside.
//
// Limits: a filter is the second line. What it refuses is, in the native
// confinement, refused by namespaces, missing capabilities or Landlock as well,
// except for the injection of terminal input, for which it is the first together
// with the private terminal. Under Landlock alone the refusal of sockets is what
// isolates the network. Architectures other than amd64 and arm64 are unsupported.
package syscallfilter
