# A module body that writes a file when it is imported, without a program.
import os

os.system("touch stepsmith-owned")
