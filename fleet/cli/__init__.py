"""The command line: parse, call one service, print. Data on stdout, words on stderr."""
