export { BlobPreview } from './blob-preview.js';
export { BlobMover, type Moved } from './blob-mover.js';
export { blobKey, BlobMissing, type BlobLocation, type ByteRange, StoreUnavailable } from './blob-store.js';
export { BlobSweeper } from './blob-sweeper.js';
export { BlobUpkeep } from './blob-upkeep.js';
export { type BlobReference, Blobs, type StagedBlob } from './blobs.js';
export { BlobsModule } from './blobs.module.js';
export { HashedBody } from './hashed-body.js';
export { StoreCheck } from './store-check.js';
