import { describeMatrix } from '../../../kit/routes/access-matrix.js';

describeMatrix('pages');
