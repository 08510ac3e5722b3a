# Fails while a word is left in a.txt.
! grep -q one a.txt
