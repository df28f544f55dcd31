export { BlobMissing, type BlobLocation, type ByteRange } from './blob-store.js';
export { BlobSweeper } from './blob-sweeper.js';
export { type BlobReference, Blobs, type StagedBlob } from './blobs.js';
export { BlobsModule } from './blobs.module.js';
