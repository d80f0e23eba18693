"""A branch of WsgiDAV: PUT waits until the file is on the disk."""
import os
from wsgidav import fs_dav_provider

begin = fs_dav_provider.FileResource.begin_write


def begin_write(self, **options):
    file = begin(self, **options)

    class Kept:
        def __getattr__(self, name):
            return getattr(file, name)

        def close(self):
            file.flush()
            os.fsync(file.fileno())
            file.close()

    return Kept()


fs_dav_provider.FileResource.begin_write = begin_write
