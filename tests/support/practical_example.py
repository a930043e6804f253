"""The "practical" example of the document that runtask follows: its list, and the folders and commands that its lines use."""

import pathlib

MODELS = {"resnet_family": ("resnet34", "resnet50", "resnet101"), "mbnet_family": ("mbnetv1", "mbnetv2", "mbnetv3")}
COMMANDS = ("train_model", "deploy_model", "test_model_on", "report_test_result")
TASKS = """\
cd ~/playground/models/resnet_family #!
cd resnet34; train_model #:mygroup1
cd resnet50; train_model
cd resnet101; train_model #@2

cd ../mbnet_family #!
cd mbnetv1; train_model
cd mbnetv2; train_model
cd mbnetv3; train_model

cd ../resnet_family #!
cd resnet34; deploy_model #:mygroup1
cd resnet34; test_model_on dataset1 #+mygroup1
cd resnet34; test_model_on dataset2 #+mygroup1
cd resnet34; test_model_on dataset3 #+mygroup1
cd resnet34; report_test_result #:mygroup1
"""


def make_models(home):
    """The folders of the models in the folder `home`."""
    for family, models in MODELS.items():
        for model in models:
            (pathlib.Path(home) / "playground/models" / family / model).mkdir(parents=True, exist_ok=True)
