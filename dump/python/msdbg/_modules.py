from msdbg._train import Train


class Modules(Train):
    name = "modules"
