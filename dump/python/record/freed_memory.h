// What the C library does with memory that the program frees.
#pragma once

namespace msdbg::dump {

/// Keeps up to 512 MiB of freed memory in the process instead of giving it back to the system. A training
/// frees all activations in every step; what a recorder allocates beside them decides by chance whether that
/// memory is given back each time and costs a page fault for every 4 KiB in the next step (a cnn: 6,400
/// instead of 800 a step, 4 ms of 27). Nothing where the environment says how glibc is to do it, or with
/// another C library.
void keepFreedMemory();

}  // namespace msdbg::dump
