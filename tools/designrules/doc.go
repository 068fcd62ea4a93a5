// Package designrules holds the rules of ARCHITECTURE.md that a compiler does
// not check: what the rule packages may not use, and who may import whom. Its
// test reads the sources; there is nothing to import.
package designrules
