// Package acceptance runs the whole ambit from outside: each .txtar file is a
// script that types commands, with its own home, state folder and directories.
// They read as documentation of what a person sees.
//
// Beside what testscript offers, scripts may use
//
//	pty [-size 80x24] SCRIPT CMD…   run CMD in a terminal and play SCRIPT on it
//	capture VAR REGEXP              set VAR to what the first group finds in the last output
//	json PATH VALUE                 the last stdout is one JSON object with VALUE at PATH
//	screen 80x24                    what a person sees after the last stdout was shown on a terminal
//	wait-for REGEXP CMD…            run CMD until its output fits, up to a limit
//
// and the conditions [root], [user], [native] (user namespaces can be had), [mount]
// (as root, in a mount namespace of its own).
package acceptance
