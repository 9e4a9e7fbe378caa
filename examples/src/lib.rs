//! Worked examples of keyderive: the files beside this folder.
