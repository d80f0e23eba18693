//! `LocalFs` with dead properties that go where their resources go.

use std::future;
use std::pin::Pin;

use dav_server::davpath::DavPath;
use dav_server::fs::{
    DavDirEntry, DavFile, DavFileSystem, DavMetaData, DavProp, FsFuture, FsStream, OpenOptions,
    ReadDirMeta,
};
use dav_server::localfs::LocalFs;
use http::StatusCode;

use super::props::{DeadProps, StoredName};

/// The file system below `dav-server`. An overwriting PUT opens an existing file, so that its
/// properties stay; DELETE, MOVE and COPY change the properties once the files have changed.
#[derive(Clone)]
pub(super) struct PropFs {
    local: Box<LocalFs>,
    props: DeadProps,
}

impl PropFs {
    pub(super) fn new(local: Box<LocalFs>, props: DeadProps) -> PropFs {
        PropFs { local, props }
    }
}

impl DavFileSystem for PropFs {
    fn remove_dir<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            DavFileSystem::remove_dir(&*self.local, path).await?;
            self.props.remove(path);
            Ok(())
        })
    }

    fn remove_file<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            DavFileSystem::remove_file(&*self.local, path).await?;
            self.props.remove(path);
            Ok(())
        })
    }

    fn rename<'a>(&'a self, from: &'a DavPath, to: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            DavFileSystem::rename(&*self.local, from, to).await?;
            self.props.rename(from, to);
            Ok(())
        })
    }

    fn copy<'a>(&'a self, from: &'a DavPath, to: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            DavFileSystem::copy(&*self.local, from, to).await?;
            self.props.copy(from, to, false);
            Ok(())
        })
    }

    fn have_props<'a>(
        &'a self,
        _path: &'a DavPath,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(future::ready(true))
    }

    fn patch_props<'a>(
        &'a self,
        path: &'a DavPath,
        patch: Vec<(bool, DavProp)>,
    ) -> FsFuture<'a, Vec<(StatusCode, DavProp)>> {
        let mut answers = Vec::with_capacity(patch.len());
        // In document order, as RFC 4918, section 9.2 requires; nothing here can fail halfway.
        for (set, mut prop) in patch {
            let element = prop.xml.take().map(element_text);
            let name = StoredName {
                namespace: prop.namespace.clone().unwrap_or_default(),
                local: prop.name.clone(),
            };
            self.props
                .patch(path, name, if set { element } else { None });
            answers.push((StatusCode::OK, prop));
        }
        Box::pin(future::ready(Ok(answers)))
    }

    // The rest is LocalFs unchanged.

    fn open<'a>(
        &'a self,
        path: &'a DavPath,
        options: OpenOptions,
    ) -> FsFuture<'a, Box<dyn DavFile>> {
        DavFileSystem::open(&*self.local, path, options)
    }

    fn read_dir<'a>(
        &'a self,
        path: &'a DavPath,
        meta: ReadDirMeta,
    ) -> FsFuture<'a, FsStream<Box<dyn DavDirEntry>>> {
        DavFileSystem::read_dir(&*self.local, path, meta)
    }

    fn metadata<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, Box<dyn DavMetaData>> {
        DavFileSystem::metadata(&*self.local, path)
    }

    fn symlink_metadata<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, Box<dyn DavMetaData>> {
        DavFileSystem::symlink_metadata(&*self.local, path)
    }

    fn create_dir<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        DavFileSystem::create_dir(&*self.local, path)
    }
}

/// `dav-server` writes a property as a document; it is to be an element inside another one.
fn element_text(xml: Vec<u8>) -> String {
    let text = String::from_utf8_lossy(&xml);
    match text
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split_once("?>"))
    {
        Some((_, element)) => element.trim_start().to_owned(),
        None => text.into_owned(),
    }
}
