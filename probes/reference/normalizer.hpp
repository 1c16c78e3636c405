// The normalizer stage: NFC, NFD, NFKC, NFKD, and sequences of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace reference {

class Normalizer {
 public:
  enum class Form { kNfc, kNfd, kNfkc, kNfkd };

  // Throws tokparity::Unsupported naming the part that is neither of these.
  static Normalizer read(const json::Value& description);

  // Leaves out NFC, as engines in the field do.
  void leave_out_nfc();

  // `text` must be valid UTF-8.
  std::string apply(std::string_view text) const;

 private:
  std::vector<Form> forms_;
};

}  // namespace reference
