//! Compiled pipelines on disk: a file of each device, driver and driver version, checked before the driver sees it.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use ash::vk;

use super::PhysicalDevice;
use crate::whole_file;

/// How the file begins; its last byte is raised when the layout changes.
const MAGIC: [u8; 8] = *b"HOPIPE\x00\x01";

/// For which device and driver pipelines were compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct CacheKey {
    /// `vendorID`.
    pub vendor: u32,
    /// `deviceID`.
    pub device: u32,
    /// `driverVersion`.
    pub driver_version: u32,
    /// `pipelineCacheUUID`.
    pub uuid: [u8; vk::UUID_SIZE],
}

/// What stands before the data of `vkGetPipelineCacheData`, whose own header has neither its length nor a checksum.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    key: CacheKey,
    /// CRC-32 of the data.
    checksum: u32,
    /// Bytes of the data.
    size: u64,
}

/// The file of a device.
#[derive(Debug)]
pub(super) struct PipelineCacheFile {
    path: PathBuf,
    key: CacheKey,
}

impl PipelineCacheFile {
    /// Nothing is read yet; the folder need not be there.
    pub fn new(folder: &Path, physical: &PhysicalDevice) -> Self {
        Self::of(folder, physical.pipeline_cache_key)
    }

    fn of(folder: &Path, key: CacheKey) -> Self {
        let uuid: String = key.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let CacheKey {
            vendor,
            device,
            driver_version,
            ..
        } = key;
        let name = format!("pipelines-{vendor:04x}-{device:04x}-{driver_version:08x}-{uuid}.bin");
        Self {
            path: folder.join(name),
            key,
        }
    }

    /// The data; empty where there is none. A file that is not what it should be is set aside, so that the next start has none.
    pub fn read(&self) -> Vec<u8> {
        let found = match std::fs::read(&self.path) {
            Ok(bytes) => self.data_of(&bytes).map(<[u8]>::to_vec),
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(error) => Err(error.to_string()),
        };
        found.unwrap_or_else(|reason| {
            let aside = self.path.with_extension("broken");
            let moved = match std::fs::rename(&self.path, &aside) {
                Ok(()) => format!("it is now {}", aside.display()),
                Err(error) => format!("it cannot be set aside: {error}"),
            };
            tracing::warn!(
                "pipelines are compiled anew: {}: {reason}; {moved}",
                self.path.display()
            );
            Vec::new()
        })
    }

    fn data_of<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (header, data) = bytes
            .split_at_checked(size_of::<Header>())
            .ok_or_else(|| format!("{} bytes are too few", bytes.len()))?;
        let header: Header = bytemuck::pod_read_unaligned(header);
        if header.magic != MAGIC {
            return Err("it is no file of pipelines, or of another version of this program".into());
        }
        if header.key != self.key {
            return Err("it is of another device or driver".into());
        }
        if header.size != data.len() as u64 {
            return Err(format!("it has {} bytes of {}", data.len(), header.size));
        }
        if header.checksum != crc32fast::hash(data) {
            return Err("its checksum is another".into());
        }
        Ok(data)
    }

    /// Writes the whole file or none of it.
    ///
    /// # Errors
    /// The file system does not let it.
    pub fn write(&self, data: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(whole_file::folder_of(&self.path))?;
        let header = Header {
            magic: MAGIC,
            key: self.key,
            checksum: crc32fast::hash(data),
            size: data.len() as u64,
        };
        whole_file::replace(&self.path, |file| {
            file.write_all(bytemuck::bytes_of(&header))?;
            file.write_all(data)
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// `VkPipelineCache`, with what it had in it when it was made.
pub(super) struct PipelineCache {
    /// The raw handle; null where the driver made none, which pipelines are compiled without.
    pub raw: vk::PipelineCache,
    file: Option<PipelineCacheFile>,
    /// Length and checksum of what was read.
    read: (usize, u32),
}

impl PipelineCache {
    /// Of the device, with what the file in that folder has.
    pub fn new(device: &ash::Device, folder: Option<&Path>, physical: &PhysicalDevice) -> Self {
        let file = folder.map(|folder| PipelineCacheFile::new(folder, physical));
        let data = file.as_ref().map(PipelineCacheFile::read).unwrap_or_default();
        let create_info = vk::PipelineCacheCreateInfo::default().initial_data(&data);
        // SAFETY: V3; the data is what a driver of this device and version gave, by key and checksum.
        let raw = unsafe { device.create_pipeline_cache(&create_info, None) };
        Self {
            raw: raw
                .inspect_err(|result| tracing::debug!("no pipeline cache: {result}"))
                .unwrap_or_default(),
            file,
            read: (data.len(), crc32fast::hash(&data)),
        }
    }

    /// Keeps what changed, and destroys the cache.
    ///
    /// # Safety
    /// The device is the one it was made of; no pipeline is made from it any more; it is called once.
    pub unsafe fn end(&mut self, device: &ash::Device) {
        if let Some(file) = &self.file {
            let data = match self.raw {
                raw if raw == vk::PipelineCache::null() => Vec::new(),
                // SAFETY: the caller's promise.
                raw => unsafe { device.get_pipeline_cache_data(raw) }.unwrap_or_default(),
            };
            let is_new = self.read != (data.len(), crc32fast::hash(&data));
            if is_new
                && !data.is_empty()
                && let Err(error) = file.write(&data)
            {
                tracing::warn!("compiled pipelines are not kept: {}: {error}", file.path().display());
            }
        }
        // SAFETY: the caller's promise; a null handle is ignored.
        unsafe { device.destroy_pipeline_cache(self.raw, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: CacheKey = CacheKey {
        vendor: 0x10de,
        device: 0x2335,
        driver_version: 0x9127_c000,
        uuid: [7; 16],
    };

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_written_is_read_and_a_second_write_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = PipelineCacheFile::of(&folder.path().join("not/there/yet"), KEY);
        assert_eq!(file.read(), b"");
        for data in [&b"pipelines"[..], b"", b"others"] {
            file.write(data).unwrap();
            assert_eq!(file.read(), data);
        }
        let name = "pipelines-10de-2335-9127c000-07070707070707070707070707070707.bin";
        assert_eq!(names(whole_file::folder_of(file.path())), [name]);
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let file = PipelineCacheFile::of(folder.path(), KEY);
        file.write(b"pipelines").unwrap();
        let whole = std::fs::read(file.path()).unwrap();
        let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
        let flipped = (0..whole.len()).map(|place| {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            bytes
        });
        for broken in cut.chain(flipped).chain([[&whole[..], b"x"].concat()]) {
            std::fs::write(file.path(), &broken).unwrap();
            assert_eq!(file.read(), b"");
            assert!(!file.path().exists());
            assert_eq!(std::fs::read(file.path().with_extension("broken")).unwrap(), broken);
        }
    }

    #[test]
    fn a_file_of_another_device_driver_or_version_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = PipelineCacheFile::of(folder.path(), KEY);
        for other in [
            CacheKey { vendor: 1, ..KEY },
            CacheKey { device: 1, ..KEY },
            CacheKey {
                driver_version: 1,
                ..KEY
            },
            CacheKey { uuid: [8; 16], ..KEY },
        ] {
            let others = PipelineCacheFile::of(folder.path(), other);
            others.write(b"pipelines").unwrap();
            assert_ne!(others.path(), file.path());
            assert_eq!(file.read(), b"");
            // Even under this device's name.
            std::fs::rename(others.path(), file.path()).unwrap();
            assert_eq!(file.read(), b"");
            assert!(!file.path().exists());
        }
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_left_and_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        // A file where the folder should be: root may write anywhere else.
        let in_the_way = folder.path().join("handover");
        std::fs::write(&in_the_way, b"").unwrap();
        let file = PipelineCacheFile::of(&in_the_way, KEY);
        assert!(file.write(b"pipelines").is_err());
        assert_eq!(file.read(), b"");
        assert_eq!(names(folder.path()), ["handover"]);
    }
}
