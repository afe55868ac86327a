"""Language models as proposers: endpoints, prompts, the ledger of paid answers, and the sampler.

Nothing here imports torch; the ``openai`` package is imported when the first request is made.
"""
