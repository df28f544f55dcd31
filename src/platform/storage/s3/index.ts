/** What loads the S3 client, which is 30 MB: import it when it is needed. */
export { foreignIdOf, openS3Store } from './open-s3-store.js';
export { S3Objects } from './s3-objects.js';
