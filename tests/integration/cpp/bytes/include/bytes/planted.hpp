// A header in an include directory, which finds its neighbour by a path relative to itself.
#pragma once

#include <string_view>

#include "../../src/detail/text.hpp"

constexpr std::string_view kPlanted = BYTES_TEXT;
