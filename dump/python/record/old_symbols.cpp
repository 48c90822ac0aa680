// hypot() got a new version in glibc 2.35 (one that does not set errno): the older one, which every glibc
// still has, lets a wheel run on 2.34 (RHEL 9). The linker gives us every call (--wrap=hypot).
#if defined(__x86_64__)
extern "C" double msdbgOldHypot(double x, double y);
__asm__(".symver msdbgOldHypot, hypot@GLIBC_2.2.5");
extern "C" double __wrap_hypot(double x, double y) { return msdbgOldHypot(x, y); }
#endif
