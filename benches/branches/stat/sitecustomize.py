"""A branch of WsgiDAV: one stat more for each member of a collection."""
import os
from wsgidav import fs_dav_provider

get = fs_dav_provider.FolderResource.get_member


def get_member(self, name):
    os.stat(os.path.join(self._file_path, name))
    return get(self, name)


fs_dav_provider.FolderResource.get_member = get_member
