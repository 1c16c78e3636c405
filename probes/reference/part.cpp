#include "part.hpp"

#include <algorithm>
#include <string>

#include "tokparity/probe.hpp"

namespace reference {

void refuse(std::string_view part, std::string_view value) {
  throw tokparity::Unsupported(std::string(part) + ": " + std::string(value) + " is not supported");
}

void malformed(std::string_view part, std::string_view what) {
  throw json::Malformed(std::string(part) + ": " + std::string(what));
}

std::vector<json::Value> flattened(const json::Value& description, std::string_view part,
                                   std::string_view list) {
  std::vector<json::Value> parts;
  std::vector<json::Value> waiting;
  if (!description.is_null()) waiting.push_back(description);
  while (!waiting.empty()) {
    const json::Value one = waiting.back();
    waiting.pop_back();
    if (type_of(one, part) != "Sequence") {
      parts.push_back(one);
      continue;
    }
    const json::Value members = one[list];
    if (!members.is_array()) malformed(part, "a Sequence without a list of " + std::string(list));
    const auto first = static_cast<std::ptrdiff_t>(waiting.size());
    members.for_each_element([&](json::Value member) { waiting.push_back(member); });
    std::reverse(waiting.begin() + first, waiting.end());
  }
  return parts;
}

std::string_view type_of(const json::Value& description, std::string_view part) {
  const json::Value type = description["type"];
  if (!type.is_string()) {
    malformed(part, "expected an object with a type, found " +
                        std::string(json::name_of(description.kind())));
  }
  return type.text();
}

bool flag(const json::Value& description, std::string_view part, std::string_view name) {
  const auto value = description[name].boolean();
  if (!value) malformed(part, std::string(name) + " is missing or no boolean");
  return *value;
}

bool flag_or(const json::Value& description, std::string_view part, std::string_view name,
             bool otherwise) {
  return description[name].is_null() ? otherwise : flag(description, part, name);
}

}  // namespace reference
