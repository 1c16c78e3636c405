#include "characters.hpp"

#include <limits>
#include <stdexcept>

#include "utf8.hpp"

namespace reference {

void Characters::assign(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::runtime_error("a text of 4 GiB or more");
  }
  codes_.clear();
  masks_.clear();
  offsets_.clear();
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = utf8::decode(text, at);
    codes_.push_back(code);
    masks_.push_back(unicode::class_mask(code));
    offsets_.push_back(static_cast<std::uint32_t>(at));
    at += length;
  }
  offsets_.push_back(static_cast<std::uint32_t>(text.size()));
}

}  // namespace reference
