;;; eglot.el --- A session in Emacs, by someone who has the lines of docs/editors.md  -*- lexical-binding: t -*-

;;; Commentary:
;; Opens files, reads findings, applies fixes, saves.  Writes what it saw to the file $STEPSMITH_REPORT as JSON;
;; tests/test_other_editors.py judges it.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'package)

(defconst session-limit 300 "Seconds for one step.")
(defvar session-report nil "What was seen: an association list, newest first.")
(defvar session-messages nil "What was shown in the echo area, newest first.")

(defun session-note (key value)
  "Report VALUE as KEY."
  (push (cons key value) session-report))

(defun session-load-snippet ()
  "Evaluate the lines for Emacs in docs/editors.md."
  (with-temp-buffer
    (insert-file-contents (getenv "STEPSMITH_DOCS"))
    (search-forward "\n## Emacs\n")
    (let ((start (search-forward "\n```elisp\n")))
      (search-forward "\n```\n")
      (eval-region start (match-beginning 0)))))

(defun session-pause ()
  "Be idle for a moment: without a keyboard Emacs never is, so timers that wait for that are called here."
  (accept-process-output nil 0.02)
  (mapc #'timer-event-handler (copy-sequence timer-idle-list)))

(defmacro session-wait (what &rest condition)
  "Handle messages of processes until CONDITION holds; an error that names WHAT when it takes too long."
  (declare (indent 1))
  `(let ((ending (+ (float-time) session-limit)) found)
     (while (not (setq found (progn ,@condition)))
       (when (> (float-time) ending) (error "Waited in vain for %s" ,what))
       (session-pause))
     found))

(defun session-open (name)
  "Visit the file NAME as a user does: Eglot connects after the command."
  (switch-to-buffer (find-file-noselect name))
  (run-hooks 'post-command-hook)
  (session-wait "Eglot" (eglot-managed-p)))

(defun session-findings ()
  "Return what Flymake shows in this buffer, for JSON."
  (mapcar (lambda (found)
            (save-excursion
              (goto-char (flymake-diagnostic-beg found))
              `((line . ,(1- (line-number-at-pos))) (column . ,(current-column))
                (message . ,(flymake-diagnostic-text found)))))
          (flymake-diagnostics)))

(defun session-wait-for-findings (wanted)
  "Wait until there are findings, or none where WANTED is nil, and return them."
  (session-wait "findings" (flymake-start) (eq wanted (and (flymake-diagnostics) t)))
  (session-findings))

(defun session-go-to (words &optional column)
  "Move to WORDS in the buffer, and by COLUMN from there."
  (goto-char (point-min))
  (search-forward words)
  (goto-char (+ (match-beginning 0) (or column 0))))

(defun session-hover ()
  "Return what the echo area would show for the place of point."
  (let (shown)
    (eglot-hover-eldoc-function (lambda (text &rest _) (when text (setq shown (substring-no-properties text)))))
    (session-wait "the hover" shown)))

(defun session-fix ()
  "Apply the first action offered at point; return the titles of all."
  (let ((before (buffer-string)) (last-nonmenu-event t) titles)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt items &rest _) (setq titles (mapcar #'car items)) (car titles))))
      (call-interactively #'eglot-code-actions))
    (session-wait "an action" (not (equal before (buffer-string))))
    (vconcat titles)))

(defun session-save (verdict)
  "Save, wait until a message that begins with VERDICT is shown, and return that message."
  (setq session-messages nil)
  (save-buffer)
  (session-wait verdict (cl-find-if (lambda (shown) (string-prefix-p verdict shown)) session-messages)))

(defun session-text ()
  "Return the text of this buffer."
  (buffer-substring-no-properties (point-min) (point-max)))

(defun session-python-file ()
  "Everything in a Python file."
  (session-open "overused.py")
  (session-note 'python (vconcat (session-wait-for-findings t)))
  (session-go-to "(E1, E1)" 1)
  (session-note 'hover (session-hover))
  (save-excursion
    (call-interactively #'xref-find-definitions)
    (session-note 'definition (string-trim (thing-at-point 'line t))))
  (session-go-to "(E1, E1)" 5)
  (session-note 'actions (session-fix))
  (session-wait-for-findings nil)
  (session-note 'fixed (session-text))
  (session-go-to "E1 = ")
  (eglot-rename "twice")
  (session-note 'renamed (session-text))
  (session-go-to "step.Map(fn=add)" 5)
  (session-note 'completions (vconcat (all-completions "" (nth 2 (eglot-completion-at-point)))))
  (session-note 'verdict (session-save "overused passed"))
  (session-go-to "reference=quadrupled")
  (replace-match "reference=doubled")
  (session-note 'mismatch (session-save "overused failed"))
  (session-note 'wrong (vconcat (session-wait-for-findings t))))

(defun session-task-file ()
  "A task file."
  (session-open "doubled.step.yaml")
  (session-note 'task (vconcat (session-wait-for-findings t)))
  (session-go-to "fn_doubled")
  (session-note 'task_actions (session-fix))
  (session-wait-for-findings nil)
  (session-note 'task_verdict (session-save "doubled passed"))
  (session-go-to "fn=fn_double" 4)
  (session-note 'task_hover (session-hover)))

(defun session-processes ()
  "Note the processes behind this buffer."
  (let ((status (jsonrpc-request (eglot-current-server) :stepsmith/status nil)))
    (session-note 'processes
                  (vconcat (list (plist-get (plist-get status :server) :pid))
                           (cl-mapcan (lambda (simulator) (append (plist-get simulator :pids) nil))
                                      (append (plist-get status :simulators) nil))))))

(package-initialize)
(setq make-backup-files nil
      create-lockfiles nil)
(advice-add 'message :before
            (lambda (form &rest values) (when form (push (apply #'format form values) session-messages))))
(session-load-snippet)
(session-note 'version emacs-version)
(condition-case problem
    (progn
      (require 'eglot)
      (session-python-file)
      (session-task-file)
      (session-processes)
      (eglot-shutdown (eglot-current-server)))
  (error (session-note 'problem (error-message-string problem))))
(with-temp-file (getenv "STEPSMITH_REPORT")
  (insert (json-encode session-report)))

;;; eglot.el ends here
