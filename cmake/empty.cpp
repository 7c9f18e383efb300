// A target of CMake needs a source of its own.
