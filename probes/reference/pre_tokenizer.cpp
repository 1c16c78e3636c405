#include "pre_tokenizer.hpp"

#include "part.hpp"

namespace reference {

Pieces::Pieces(std::string_view text) {
  if (!text.empty()) all_.push_back(text);
}

PreTokenizer PreTokenizer::read(const json::Value& description) {
  constexpr std::string_view kPart = "pre_tokenizer";
  PreTokenizer pre_tokenizer;
  bool byte_level = false;
  for (const json::Value& part : flattened(description, kPart, "pretokenizers")) {
    const std::string_view type = type_of(part, kPart);
    if (byte_level) refuse(kPart, std::string(type) + " after ByteLevel");
    if (type == "Split") {
      pre_tokenizer.steps_.push_back(read_split(part));
    } else if (type == "ByteLevel") {
      byte_level = true;
      const bool use_regex = flag_or(part, kPart, "use_regex", true);
      pre_tokenizer.steps_.push_back(
          {flag(part, kPart, "add_prefix_space"), use_regex ? match_gpt2 : nullptr, Kept::kBoth});
    } else {
      refuse(kPart, type);
    }
  }
  if (!byte_level) refuse(kPart, "one without ByteLevel");
  return pre_tokenizer;
}

PreTokenizer::Step PreTokenizer::read_split(const json::Value& description) {
  constexpr std::string_view kPart = "pre_tokenizer";
  const json::Value regex = description["pattern"]["Regex"];
  if (!regex.is_string()) refuse(kPart, "Split by a pattern that is no Regex");
  const Pattern pattern = pattern_of(regex.text());
  if (pattern == nullptr) refuse(kPart, "Split pattern " + std::string(regex.text()));
  const bool invert = flag(description, kPart, "invert");
  const std::string_view behavior = description["behavior"].text();
  if (behavior == "Isolated") return {false, pattern, Kept::kBoth};
  if (behavior == "Removed") return {false, pattern, invert ? Kept::kMatches : Kept::kRest};
  refuse(kPart, "Split behavior " + std::string(behavior));
}

Pieces PreTokenizer::apply(std::string_view text) {
  Pieces pieces(text);
  std::vector<std::string_view> parts;
  for (const Step& step : steps_) {
    parts.clear();
    for (std::string_view piece : pieces.all_) {
      if (step.prefix_space && !piece.starts_with(' ')) {
        piece = pieces.made_.emplace_back(" " + std::string(piece));
      }
      split(piece, step, parts);
    }
    pieces.all_.swap(parts);
  }
  return pieces;
}

void PreTokenizer::split(std::string_view piece, const Step& step,
                         std::vector<std::string_view>& parts) {
  if (step.pattern == nullptr) {
    parts.push_back(piece);
    return;
  }
  characters_.assign(piece);
  const auto part = [&](std::size_t from, std::size_t to) {
    const std::size_t start = characters_.offset(from);
    return piece.substr(start, characters_.offset(to) - start);
  };
  std::size_t rest = 0;  // what no match has covered yet
  std::size_t at = 0;
  while (at < characters_.size()) {
    const std::size_t end = step.pattern(characters_, at);
    if (end == at) {
      ++at;
      continue;
    }
    if (rest < at && step.kept != Kept::kMatches) parts.push_back(part(rest, at));
    if (step.kept != Kept::kRest) parts.push_back(part(at, end));
    rest = at = end;
  }
  if (rest < at && step.kept != Kept::kMatches) parts.push_back(part(rest, at));
}

}  // namespace reference
