vim.cmd([[autocmd BufRead,BufNewFile *.ioplan setfiletype ioplan]])
