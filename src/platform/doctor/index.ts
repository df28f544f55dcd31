export { Doctor, DoctorModule, type Examination, type Finding } from './doctor.js';
