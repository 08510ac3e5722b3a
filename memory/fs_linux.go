package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lustre has no constant in x/sys.
const lustre = 0x0BD00BD0

// networkFilesystems names the file systems that several hosts may write to, or that do
// not promise to map the same memory into all processes.
var networkFilesystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "nfs",
	unix.SMB_SUPER_MAGIC:  "smb",
	unix.SMB2_SUPER_MAGIC: "smb2",
	unix.CIFS_SUPER_MAGIC: "cifs",
	unix.V9FS_MAGIC:       "9p",
	unix.FUSE_SUPER_MAGIC: "fuse",
	unix.CEPH_SUPER_MAGIC: "ceph",
	unix.AFS_SUPER_MAGIC:  "afs",
	unix.AFS_FS_MAGIC:     "afs",
	unix.CODA_SUPER_MAGIC: "coda",
	lustre:                "lustre",
}

// localFilesystems names some of the others, for people.
var localFilesystems = map[uint32]string{
	unix.EXT4_SUPER_MAGIC:      "ext4",
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.F2FS_SUPER_MAGIC:      "f2fs",
}

// filesystem says what a directory is on, and whether other hosts may be on it
// too.
func filesystem(dir string) (name string, network bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", false, fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	name, network = filesystemOf(uint32(s.Type)) // the type is as wide as a word, the numbers have 32 bits
	return name, network, nil
}

func filesystemOf(magic uint32) (name string, network bool) {
	if name, ok := networkFilesystems[magic]; ok {
		return name, true
	}
	if name, ok := localFilesystems[magic]; ok {
		return name, false
	}
	return fmt.Sprintf("type %#x", magic), false
}

// indexBytes is the size of the first piece of the index of the log.
const indexBytes = 32 << 10

// roomForIndex fails where the disk has no room for the index of a database's log.
// SQLite writes to it as memory, and on disks with small blocks, or that write
// nothing in place, the kernel ends a process whose memory then finds no room.
func roomForIndex(path string) error {
	dir := filepath.Dir(path)
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", path, err)
	}
	free := s.Bavail * uint64(s.Bsize)
	var stat unix.Stat_t
	if err := unix.Stat(path+"-shm", &stat); err == nil {
		free += uint64(stat.Blocks) * 512
	}
	if free >= indexBytes {
		return nil
	}
	// Some disks keep room for some users, or tell no sizes: a file without a name, that
	// no kill leaves behind, finds out.
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	switch {
	case errors.Is(err, unix.ENOSPC):
		return &fs.PathError{Op: "make room in", Path: dir, Err: err}
	case err != nil: // SQLite will say what it is
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	_, err = f.Write(make([]byte, indexBytes))
	return errors.Join(err, f.Close())
}
