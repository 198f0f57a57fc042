//! From buffers as they are written to buffers as they are made.

use super::super::effect::{BufferDescription, BufferSize};
use super::super::grid::{Grid, GridKind};
use super::super::table::TableFormat;

/// Most planes of a grid.
const MOST_PLANES: u32 = 16;

/// A buffer as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferText {
    name: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    bytes_per_texel: u64,
    #[serde(default)]
    zeroed: bool,
    #[serde(default)]
    keeps: bool,
    table: Option<TableFormat>,
    grid: Option<GridKind>,
    planes: Option<u32>,
    divisor: Option<u32>,
}

impl BufferText {
    pub fn describe(self) -> Result<BufferDescription, String> {
        let place = format!("buffer {:?}", self.name);
        if self.name.is_empty() || self.name.contains('.') {
            return Err(format!("{place}: expected a name without a dot"));
        }
        let is_sized = self.bytes > 0 || self.bytes_per_texel > 0;
        let grid = self.grid(is_sized).map_err(|message| format!("{place}: {message}"))?;
        let is_sized = is_sized || grid.is_some();
        if self.table.is_some() && (is_sized || self.keeps || self.zeroed) {
            return Err(format!(
                "{place}: a table is its file's content: expected neither `bytes`, `bytes_per_texel`, `keeps` nor `zeroed`"
            ));
        }
        if self.table.is_none() && !is_sized {
            return Err(format!("{place}: expected `bytes` or `bytes_per_texel` above 0"));
        }
        if self.keeps && self.zeroed {
            return Err(format!("{place}: expected either `keeps` or `zeroed`"));
        }
        if self.bytes > 1 << 32 || self.bytes_per_texel > 1 << 10 {
            return Err(format!(
                "{place}: expected at most 4294967296 `bytes` and 1024 `bytes_per_texel`"
            ));
        }
        Ok(BufferDescription {
            name: self.name,
            size: BufferSize {
                fixed: self.bytes,
                per_texel: self.bytes_per_texel,
                grid,
            },
            zeroed: self.zeroed,
            keeps: self.keeps,
            made: false,
            table: self.table,
        })
    }

    fn grid(&self, is_sized: bool) -> Result<Option<Grid>, String> {
        let Some(kind) = self.grid else {
            return match (self.planes, self.divisor) {
                (None, None) => Ok(None),
                _ => Err("expected `planes` and `divisor` with a `grid` alone".into()),
            };
        };
        if is_sized || self.keeps {
            return Err("a grid has its own size: expected neither `bytes`, `bytes_per_texel` nor `keeps`".into());
        }
        let (planes, divisor) = (self.planes.unwrap_or(1), self.divisor.unwrap_or(1));
        if !(1..=MOST_PLANES).contains(&planes) || divisor == 0 {
            return Err(format!(
                "expected 1 to {MOST_PLANES} `planes` and a `divisor` of at least 1, found {planes} and {divisor}"
            ));
        }
        Ok(Some(Grid { kind, planes, divisor }))
    }
}
