"""The language server of Stepsmith: ``stepsmith lsp``, or ``python -m stepserver`` where it is bundled.

A thin layer: a handler fetches a document, asks :mod:`stepcore.ide`, converts the answer. It never imports torch;
programs are simulated by worker processes of :mod:`stepcore.jobs`. :mod:`stepserver.app` lists all that it offers.
"""
