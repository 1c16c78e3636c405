#include <iostream>
#include <string>

// Speaks the protocol's first word and then its own mind: progress where JSON belongs.
int main() {
  std::cout << "tokparity/1 loading vocabulary: 100%\xff\x1b[2J {\"subject\":\n" << std::flush;
  for (std::string line; std::getline(std::cin, line);) std::cout << "ok 1 2 3\n" << std::flush;
}
