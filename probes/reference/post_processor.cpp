#include "post_processor.hpp"

#include <string>
#include <string_view>

#include "part.hpp"

namespace reference {
namespace {

constexpr std::string_view kPart = "post_processor";

}  // namespace

PostProcessor PostProcessor::read(const json::Value& description) {
  PostProcessor processor;
  bool has_template = false;
  for (const json::Value& part : flattened(description, kPart, "processors")) {
    const std::string_view type = type_of(part, kPart);
    if (type == "TemplateProcessing") {
      // The oracle hands the pieces of the first to the second as if they were a pair of texts.
      if (has_template) refuse(kPart, "a Sequence of two TemplateProcessing");
      has_template = true;
      processor.read_template(part);
    } else if (type != "ByteLevel") {
      refuse(kPart, type);
    }
  }
  return processor;
}

void PostProcessor::read_template(const json::Value& description) {
  if (!description["single"].is_array()) malformed(kPart, "TemplateProcessing without a single");
  pieces_.clear();
  description["single"].for_each_element([&](json::Value piece) {
    if (const json::Value sequence = piece["Sequence"]; !sequence.is_null()) {
      if (sequence["id"].text() != "A") refuse(kPart, "a single template with a second text");
      pieces_.push_back({true, {}});
      return;
    }
    const std::string_view token = piece["SpecialToken"]["id"].text();
    const json::Value ids = description["special_tokens"][token]["ids"];
    if (!ids.is_array()) {
      malformed(kPart, "the template's special token '" + std::string(token) + "' has no ids");
    }
    Piece special{false, {}};
    ids.for_each_element([&](json::Value id) {
      const auto number = id.unsigned32();
      if (!number) malformed(kPart, "an id is no 32-bit unsigned number");
      special.ids.push_back(*number);
    });
    pieces_.push_back(std::move(special));
  });
}

std::vector<std::uint32_t> PostProcessor::apply(const std::vector<std::uint32_t>& text,
                                                bool special) const {
  std::vector<std::uint32_t> ids;
  for (const Piece& piece : pieces_) {
    if (piece.text) {
      ids.insert(ids.end(), text.begin(), text.end());
    } else if (special) {
      ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    }
  }
  return ids;
}

}  // namespace reference
