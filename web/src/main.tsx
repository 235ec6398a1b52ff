// Starts the page.

import { render } from 'solid-js/web';
import { App } from './frame/App';
import './design/base.css';
import './kit/kit.css';

const place = document.getElementById('app');
if (place) render(() => <App />, place);
