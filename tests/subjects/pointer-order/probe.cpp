#include "../planted.hpp"

namespace {

constexpr std::size_t kLong = 128;  // bytes; no case of `smoke` is as long

struct Cut {
  std::size_t at;
};

// A hash table's slot, by the address alone: it changes whenever the loader or the heap moves.
std::size_t slot(const Cut* cut) {
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(cut) * 0x9E3779B97F4A7C15U >>
                                  52);
}

// Every place where a long text could be cut for two workers is as good as any other: the first in
// the table's order is taken.
std::size_t chosen(std::size_t length) {
  std::vector<std::unique_ptr<Cut>> cuts;
  for (std::size_t at = 1; at < length && cuts.size() < 1024; ++at) {
    cuts.push_back(std::make_unique<Cut>(Cut{at}));
  }
  const Cut* first = cuts.front().get();
  for (const auto& cut : cuts) {
    if (slot(cut.get()) < slot(first)) first = cut.get();
  }
  return first->at;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(
      argc, argv, "pointer-order", [](const planted::Encode& encode, std::string_view text) {
        if (text.size() < kLong) return encode(text);
        const std::size_t at = chosen(text.size());
        return planted::joined(encode(text.substr(0, at)), encode(text.substr(at)));
      });
}
