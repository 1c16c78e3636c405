// A text taken apart into characters, with what the patterns ask of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unicode.hpp"

namespace reference {

class Characters {
 public:
  // `text` must be valid UTF-8 and less than 4 GiB. Memory is kept from text to text.
  void assign(std::string_view text);

  std::size_t size() const { return codes_.size(); }
  char32_t code(std::size_t at) const { return codes_[at]; }

  // Whether there is a character at `at`, and of one of these classes.
  bool is(std::size_t at, unicode::Mask classes) const {
    return at < size() && (masks_[at] & classes) != 0;
  }
  bool is_code(std::size_t at, char32_t wanted) const {
    return at < size() && codes_[at] == wanted;
  }
  bool is_newline(std::size_t at) const { return is_code(at, '\n') || is_code(at, '\r'); }

  // Where the run of such characters that begins at `at` ends.
  std::size_t skip(std::size_t at, unicode::Mask classes) const {
    while (is(at, classes)) ++at;
    return at;
  }

  // The byte at which the character begins; for size(), where the text ends.
  std::size_t offset(std::size_t at) const { return offsets_[at]; }

 private:
  std::vector<char32_t> codes_;
  std::vector<unicode::Mask> masks_;
  std::vector<std::uint32_t> offsets_;
};

}  // namespace reference
