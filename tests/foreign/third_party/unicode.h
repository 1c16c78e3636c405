#pragma once
#include <string>

// In libunicode.a, one archive a triple.
bool unicode_is_number(const std::string& character);
