// Reading one part of a tokenizer.json, and refusing it by name.
#pragma once

#include <string_view>
#include <vector>

#include "json.hpp"

namespace reference {

// Throws tokparity::Unsupported("PART: VALUE is not supported").
[[noreturn]] void refuse(std::string_view part, std::string_view value);

// Throws json::Malformed("PART: WHAT").
[[noreturn]] void malformed(std::string_view part, std::string_view what);

// The parts that `description` stands for, in order: none for null, those listed in its member
// `list` (and in theirs) for a Sequence, itself for anything else.
std::vector<json::Value> flattened(const json::Value& description, std::string_view part,
                                   std::string_view list);

std::string_view type_of(const json::Value& description, std::string_view part);

// A boolean member; throws json::Malformed where it is missing and has no default.
bool flag(const json::Value& description, std::string_view part, std::string_view name);
bool flag_or(const json::Value& description, std::string_view part, std::string_view name,
             bool otherwise);

}  // namespace reference
