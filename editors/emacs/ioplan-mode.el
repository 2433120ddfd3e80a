;;; ioplan-mode.el --- Storage test plans -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; (add-to-list 'load-path "/path/to/ioplan/editors/emacs")
;; (require 'ioplan-mode)
;; (add-hook 'ioplan-mode-hook #'eglot-ensure)   ; eglot is part of Emacs 29

;;; Code:

(defgroup ioplan nil "Storage test plans." :group 'languages)

(defcustom ioplan-command '("ioplan" "lsp")
  "What starts the language server."
  :type '(repeat string))

(defvar ioplan-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "w" table)
    table))

(defvar ioplan-font-lock
  '(("\\<\\(?:plan\\|use\\|as\\|param\\|profile\\|accept\\|workload\\|precondition\\|test\\|on\\s-+\\(?:failure\\|unsteady\\|nothing\\s-+found\\)\\)\\>"
     . font-lock-keyword-face)
    ("^\\s-*\\(?:after\\|run\\|idle\\|repeat\\|vary\\|skip\\|rounds\\|seek\\|expect\\|chart\\|purge\\|write\\)\\>"
     . font-lock-builtin-face)
    ("\\<[0-9][0-9_.]*\\(?:/[0-9]+\\|%\\|[A-Za-z]+\\(?:/s\\)?\\)?" . font-lock-constant-face)))

(defun ioplan-indent-line ()
  "Two columns for each open brace."
  (interactive)
  (let ((depth (car (syntax-ppss (line-beginning-position)))))
    (save-excursion
      (back-to-indentation)
      (when (looking-at "}") (setq depth (max 0 (1- depth))))
      (indent-line-to (* 2 depth)))
    (when (< (current-column) (current-indentation)) (back-to-indentation))))

;;;###autoload
(define-derived-mode ioplan-mode prog-mode "ioplan"
  "Major mode for plans."
  (setq-local comment-start "# ")
  (setq-local font-lock-defaults '(ioplan-font-lock))
  (setq-local indent-line-function #'ioplan-indent-line))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.ioplan\\'" . ioplan-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs `(ioplan-mode . ,ioplan-command)))

(provide 'ioplan-mode)
;;; ioplan-mode.el ends here
