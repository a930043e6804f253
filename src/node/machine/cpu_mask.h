// A set of processing units by OS index, of any size: cpu_set_t ends at 1024, which is too few for large
// nodes.
#pragma once

#include <cstddef>
#include <vector>

namespace wq::node::machine {

class CpuMask {
  public:
    void add(int pu);
    void add(const std::vector<int>& pus);
    bool contains(int pu) const;
    std::size_t count() const;
    bool empty() const { return count() == 0; }
    CpuMask& operator|=(const CpuMask& other);
    bool operator==(const CpuMask& other) const;
    std::vector<int> indexes() const;  // ascending

    const unsigned long* words() const { return words_.data(); }
    std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }

    // The affinity of process `pid` (0: the caller); empty if the process is gone.
    static CpuMask of_process(int pid);
    // False with errno set: the process is gone, or it may use no unit of the mask.
    bool apply_to(int pid) const;

  private:
    std::vector<unsigned long> words_;
};

}  // namespace wq::node::machine
