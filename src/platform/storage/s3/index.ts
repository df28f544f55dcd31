/** Exports that load the S3 client, which takes 30 MB: import this module only when needed. */
export { foreignIdOf, openS3Store } from './open-s3-store.js';
export { S3Objects } from './s3-objects.js';
