"""Does a calculator, a notebook or a look at the past change cooperation?"""
